// A text that a person decides on: its beginning, its end, how much lies between, and what pretends in it.
import { useState } from "preact/hooks";
import { inThree, sizeOf, SIZES } from "../cut";
import { countMarks, lookalikes } from "../visible";
import { count } from "../words";

interface Props { text: string; size?: keyof typeof SIZES; block?: boolean; code?: boolean }

export function LongText({ text, size = "value", block = false, code = false }: Props) {
  const [all, setAll] = useState(false);
  const [head, between, tail] = all ? [text, "", ""] : inThree(text, SIZES[size]);
  const Tag = block || between || text.includes("\n") ? "pre" : code ? "code" : "span";
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

const LOOKALIKES_SHOWN = 5;

function Pretences({ text }: { text: string }) {
  const marks = countMarks(text);
  return (
    <>
      {marks > 0 && <p class="help bad-text">{count(marks, "hidden character is", "hidden characters are")} shown as marks.</p>}
      {lookalikes(text, LOOKALIKES_SHOWN).map((word) => <p key={word} class="help bad-text">Letters that look like others: {word}.</p>)}
    </>
  );
}
