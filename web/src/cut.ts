// Cuts a long text in three: a beginning, what may stay hidden, an end.
import { count } from "./words";

interface Most { lines: number; characters: number }
/** How much is shown at the beginning and at the end, and which middle is too small for a button. */
interface Size { first: Most; last: Most; small: Most }

export const SIZES = {
  value: { first: { lines: 12, characters: 900 }, last: { lines: 6, characters: 500 }, small: { lines: 4, characters: 200 } },
  option: { first: { lines: 6, characters: 300 }, last: { lines: 2, characters: 100 }, small: { lines: 2, characters: 100 } },
  name: { first: { lines: 2, characters: 120 }, last: { lines: 2, characters: 60 }, small: { lines: 1, characters: 60 } },
} satisfies { [name: string]: Size };

/** Beginning, what may stay hidden, end; a text that is short enough is all beginning. */
export function inThree(text: string, { first, last, small }: Size): [string, string, string] {
  const from = endOf(text, first);
  const to = text.length - endOf([...text.slice(-last.characters)].reverse().join(""), last);
  const between = text.slice(from, to);
  if (endOf(between, small) === between.length) return [text, "", ""];
  return [text.slice(0, from), between, text.slice(to)];
}

/** Where so many lines or characters of a text end; never within a character. */
function endOf(text: string, most: Most): number {
  let lines = 0;
  for (let at = 0; at < text.length; at++) {
    if (at >= most.characters && !isInside(text, at)) return at;
    if (text[at] === "\n" && ++lines >= most.lines) return at;
  }
  return text.length;
}

/** A name in a place that has room for little: a long one says how much of it is left out. */
export function shortName(name: string): string {
  const [head, between, tail] = inThree(name, SIZES.name);
  return between ? `${head} … ${count([...between].length, "character")} … ${tail}` : head;
}

const isInside = (text: string, at: number) => (text.codePointAt(at - 1) ?? 0) > 0xffff;

export function sizeOf(text: string): string {
  let lines = 0;
  let characters = 0;
  for (const character of text) {
    characters++;
    if (character === "\n") lines++;
  }
  return lines > 1 ? `${lines.toLocaleString()} lines (${count(characters, "character")})` : count(characters, "character");
}
