// A text that a person decides on: its beginning, its end, how much lies between, and what pretends in it.
import { useState } from "preact/hooks";
import { lookalikes, marked } from "../visible";
import { count } from "../words";

const FIRST = { lines: 12, characters: 900 };
const LAST = { lines: 6, characters: 500 };
/** A middle that is no larger is shown: a button would take as much room. */
const SMALL = { lines: 4, characters: 200 };

export function LongText({ text, block = false }: { text: string; block?: boolean }) {
  const [all, setAll] = useState(false);
  const [head, between, tail] = all ? [text, "", ""] : inThree(text);
  const Tag = block || between || text.includes("\n") ? "pre" : "span";
  return (
    <>
      <Tag class="whole">
        {head}
        {between && (
          <button type="button" class="small between" onClick={() => setAll(true)}>
            Show the {sizeOf(between)} between
          </button>
        )}
        {tail}
      </Tag>
      {between && <p class="help">{sizeOf(text)} in all.</p>}
      <Pretences text={text} />
    </>
  );
}

function Pretences({ text }: { text: string }) {
  const marks = marked(text).length >> 1;
  return (
    <>
      {marks > 0 && <p class="help bad-text">{count(marks, "hidden character is", "hidden characters are")} shown as marks.</p>}
      {lookalikes(text).slice(0, 5).map((word) => <p key={word} class="help bad-text">Letters that look like others: {word}.</p>)}
    </>
  );
}

/** Beginning, what may stay hidden, end; a text that is short enough is all beginning. */
function inThree(text: string): [string, string, string] {
  const from = endOf(text, FIRST);
  const to = text.length - endOf([...text.slice(-LAST.characters)].reverse().join(""), LAST);
  const between = text.slice(from, to);
  if (endOf(between, SMALL) === between.length) return [text, "", ""];
  return [text.slice(0, from), between, text.slice(to)];
}

/** Where so many lines or characters of a text end; never within a character. */
function endOf(text: string, most: { lines: number; characters: number }): number {
  let lines = 0;
  for (let at = 0; at < text.length; at++) {
    const inside = /[\udc00-\udfff]/.test(text[at]!);
    if (at >= most.characters && !inside) return at;
    if (text[at] === "\n" && ++lines >= most.lines) return at;
  }
  return text.length;
}

function sizeOf(text: string): string {
  const lines = text.split("\n").length - 1;
  const characters = count([...text].length, "character");
  return lines > 1 ? `${lines.toLocaleString()} lines (${characters})` : characters;
}
