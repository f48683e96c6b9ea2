// Text from outside, shown so that a person sees all of it: what reorders, hides or pretends is marked.
// The terminal does the same, in Python: `toolwright.messages.visible`.

import { LETTERS, SIGNS } from "./confusables";

// Controls, formats, halves of characters, private and unassigned ones, separators without a shape;
// then those without a shape that Unicode counts among letters, marks and symbols; then all but the
// first five of the signs that combine with one letter: hundreds cover the lines around them.
const ODD =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\u{1d159}\u{e0100}-\u{e01ef}]|[\p{Mn}\p{Me}](?<=[\p{Mn}\p{Me}]{6})/gu;
const PLAIN = /^[ -~\n\t]*$/;
const PICTURE = /[\p{So}\p{Sk}]/u;

/** The text with a mark for every such character, `\u202e` as in JSON. Newlines and tabs stay. */
export function visible(text: string): string {
  return PLAIN.test(text) ? text : text.replace(ODD, (char, at: number) => (isMarked(char, text, at) ? mark(char) : char));
}

/** The text in pieces, of which every second one is a mark, or several without anything between. */
export function marked(text: string): string[] {
  if (PLAIN.test(text)) return [text];
  const pieces: string[] = [];
  let from = 0;
  for (const found of text.matchAll(ODD)) {
    if (!isMarked(found[0], text, found.index)) continue;
    if (pieces.length && from === found.index) pieces[pieces.length - 1] += mark(found[0]);
    else pieces.push(text.slice(from, found.index), mark(found[0]));
    from = found.index + found[0].length;
  }
  return [...pieces, text.slice(from)];
}

/** Where a line can end without breaking a word: at a space, or beside a character of Chinese and Japanese. */
const BREAK = /[ \t\n\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303f\uff00-\uffef]/gu;
const LONG_WORD = 1000;

/** The text in pieces, of which every second one is a word that no line can hold. */
export function inWords(text: string): string[] {
  if (text.length < LONG_WORD) return [text];
  const pieces: string[] = [];
  let from = 0;
  let word = 0;
  const end = (at: number) => {
    if (at - word < LONG_WORD) return;
    pieces.push(text.slice(from, word), text.slice(word, at));
    from = at;
  };
  for (const found of text.matchAll(BREAK)) {
    end(found.index);
    word = found.index + found[0].length;
  }
  end(text.length);
  return [...pieces, text.slice(from)];
}

/** How many characters are written as marks. */
export function countMarks(text: string): number {
  if (PLAIN.test(text)) return 0;
  let marks = 0;
  for (const found of text.matchAll(ODD)) if (isMarked(found[0], text, found.index)) marks++;
  return marks;
}

const SHORT: { [char: string]: string } = { "\b": "\\b", "\f": "\\f", "\r": "\\r" };

const mark = (char: string) =>
  SHORT[char] ?? Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");

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

/** Spaces that look like the plain one, which a command or a name does not take them for. */
export const ODD_SPACES = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/gu;

/** The text with a mark for each of those, too; for what a person decides on. */
export const withSpacesMarked = (text: string): string[] =>
  PLAIN.test(text) ? [text] : text.split(/([\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000])/u).map((piece, at) => (at % 2 ? mark(piece) : piece));

/** Alphabets that are written from right to left, with their marks. */
const LEFTWARD = /([\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]+)/u;

/** The text in pieces, of which every second one is a run of letters that would be drawn from right to left. */
export const inRuns = (text: string): string[] => (PLAIN.test(text) ? [text] : text.split(LEFTWARD));

// One character each: a pattern that repeats such a class fails on millions of them.
const SPACE = /\s/u;
const BETWEEN_WORDS = /[^\p{L}\p{N}_]/u;
const ACCENT = /\p{M}/gu;
const LATIN = /\p{Script=Latin}/u;
const OTHER = /\p{Script=Cyrillic}|\p{Script=Greek}|\p{Script=Armenian}|\p{Script=Cherokee}|\p{Script=Coptic}|\p{Script=Lisu}/u;
const SEPARATOR = /^[/\\.:;@?#%&=|~*-]$/;
// Between letters and digits they are those of ordinary text; before them, they look like an option.
const DASHES = "\u2012\u2013";
const WORD_SHOWN = 40;
const LETTERS_SHOWN = 5;

/** Words that mix letters of several alphabets, or use letters and signs that look like plain ones. */
export function lookalikes(text: string): string[] {
  if (PLAIN.test(text)) return [];
  const found = new Set<string>();
  // Without their accents: one between two letters does not make them two words.
  for (const token of text.replace(ACCENT, "").split(SPACE)) {
    if (PLAIN.test(token)) continue;
    const isPlain = /[A-Za-z]/.test(token);
    for (const word of token.split(BETWEEN_WORDS)) {
      const odd = oddLetters(word, isPlain);
      if (odd.length) found.add(described(word, odd));
    }
    const odd = oddSigns(token);
    if (odd.length) found.add(described(token, odd));
  }
  return [...found];
}

/** Of a word in a token that has plain letters, or not. */
function oddLetters(word: string, inPlain: boolean): string[] {
  if (PLAIN.test(word)) return [];
  const chars = [...new Set(word)];
  const isLatin = LATIN.test(word);
  const odd = chars.filter((char) => looksLikeAnother(char, isLatin));
  if (odd.length || !inPlain) return odd;
  // A name of an address or a file that another alphabet can write as a whole.
  const others = chars.filter((char) => char > "\u007f");
  return others.every((char) => LETTERS.test(char)) ? others : [];
}

/** Signs that look like those that divide addresses, paths and commands, one or several in a row, with plain characters beside them. */
function oddSigns(token: string): string[] {
  const chars = [...token];
  const odd = new Set<string>();
  for (let at = 0; at < chars.length; at++) {
    if (!isSign(chars[at]!)) continue;
    let end = at + 1;
    while (end < chars.length && isSign(chars[end]!)) end++;
    const [before, after] = [chars[at - 1] ?? "", chars[end] ?? ""];
    if ((before || after) && isPlain(before) && isPlain(after))
      for (const char of chars.slice(at, end)) if (!DASHES.includes(char) || !/[\p{L}\p{N}]/u.test(before)) odd.add(char);
    at = end - 1;
  }
  return [...odd];
}

const isSign = (char: string) => char > "\u007f" && (SIGNS.test(char) || SEPARATOR.test(char.normalize("NFKC")));

/** Whether it is ASCII, or a letter of living languages with Latin ones; the end of a word is. */
const isPlain = (char: string) => char <= "\u007f" || (char <= "\u024f" && /\p{L}/u.test(char));

const looksLikeAnother = (char: string, inLatin: boolean) =>
  char > "\u00ff" && ((inLatin && (OTHER.test(char) || LETTERS.test(char))) || /^[0-9A-Za-z]+$/.test(char.normalize("NFKC")));

/** The word around its first odd letter, and which letters are odd. */
function described(word: string, odd: string[]): string {
  const letters = [...word];
  const start = Math.max(0, letters.indexOf(odd[0]!) - WORD_SHOWN / 2);
  const end = start + WORD_SHOWN;
  const shown = (start ? "…" : "") + letters.slice(start, end).join("") + (end < letters.length ? "…" : "");
  const named = odd.slice(0, LETTERS_SHOWN).map((char) => `${char} (U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")})`);
  const more = odd.length - LETTERS_SHOWN;
  return `“${shown}” has ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
