// Text from outside, shown so that a person sees all of it: what reorders, hides or pretends is marked.

// Controls, formats, halves of characters, private and unassigned ones, separators without a shape;
// then those without a shape that Unicode counts among letters, marks and symbols.
const ODD =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu;
const PLAIN = /^[ -~\n\t]*$/;
const PICTURE = /[\p{So}\p{Sk}]/u;

/** The text with a mark for every such character, `\u202e` as in JSON. Newlines and tabs stay. */
export function visible(text: string): string {
  return PLAIN.test(text) ? text : text.replace(ODD, (char, at: number) => (isMarked(char, text, at) ? mark(char) : char));
}

/** The text in pieces, of which every second one is a mark. */
export function marked(text: string): string[] {
  const pieces: string[] = [];
  let from = 0;
  for (const found of text.matchAll(ODD)) {
    if (!isMarked(found[0], text, found.index)) continue;
    pieces.push(text.slice(from, found.index), mark(found[0]));
    from = found.index + found[0].length;
  }
  return [...pieces, text.slice(from)];
}

const mark = (char: string) =>
  Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");

function isMarked(char: string, text: string, at: number): boolean {
  if (char === "\n" || char === "\t") return false;
  if (char === "\r") return text[at + 1] !== "\n";
  const before = [...text.slice(Math.max(0, at - 2), at)].at(-1) ?? "";
  // In an emoji these two only choose and join the pictures beside them.
  if (char === "\ufe0f") return !isPicture(before);
  if (char === "\u200d") return !((before === "\ufe0f" || isPicture(before)) && isPicture(String.fromCodePoint(text.codePointAt(at + 1) ?? 0)));
  return true;
}

const isPicture = (char: string) => char > "\u00ff" && PICTURE.test(char);

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const LATIN = /\p{Script=Latin}/u;
const OTHER = /\p{Script=Cyrillic}|\p{Script=Greek}|\p{Script=Armenian}|\p{Script=Cherokee}|\p{Script=Coptic}|\p{Script=Lisu}/u;

/** Words that mix letters of several alphabets, or use letters that only look like plain ones. */
export function lookalikes(text: string): string[] {
  if (PLAIN.test(text)) return [];
  const found = new Set<string>();
  for (const [word] of text.matchAll(WORD)) {
    const odd = [...word].filter((char) => (LATIN.test(word) && OTHER.test(char)) || (char > "\u00ff" && /^[\w]+$/.test(char.normalize("NFKC"))));
    if (odd.length) found.add(`“${word}” has ${[...new Set(odd)].map((char) => `${char} (U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")})`).join(", ")}`);
  }
  return [...found];
}
