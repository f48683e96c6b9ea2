// A text that a person decides on: its beginning, its end, how much lies between, and what pretends in it.
import { useState } from "preact/hooks";
import { inThree, sizeOf, SIZES } from "../cut";
import { countMarks, inRuns, lookalikes, ODD_SPACES, withSpacesMarked } from "../visible";
import { count } from "../words";

interface Props { text: string; size?: keyof typeof SIZES; block?: boolean; code?: boolean }

export function LongText({ text, size = "value", block = false, code = false }: Props) {
  const [all, setAll] = useState(false);
  const [head, between, tail] = all ? [text, "", ""] : inThree(text, SIZES[size]);
  const Tag = block || between || text.includes("\n") ? "pre" : code ? "code" : "span";
  return (
    <>
      <Tag class="whole">
        <Exactly text={head} />
        {between && (
          <button type="button" class="small between" onClick={() => setAll(true)}>
            Show the {sizeOf(between)} between
          </button>
        )}
        <Exactly text={tail} />
      </Tag>
      {between && <p class="help">{sizeOf(text)} in all.</p>}
      <Pretences text={text} />
    </>
  );
}

/** The text in the order in which it stands: words from right to left are read that way each for itself. */
function Exactly({ text }: { text: string }) {
  return (
    <>
      {withSpacesMarked(text).map((piece, at) =>
        at % 2
          ? <span key={at} class="odd" title="A space that is not the plain one">{piece}</span>
          : inRuns(piece).map((run, place) => (place % 2 ? <bdi key={`${at}-${place}`}>{run}</bdi> : run)),
      )}
    </>
  );
}

const LOOKALIKES_SHOWN = 5;

function Pretences({ text }: { text: string }) {
  const marks = countMarks(text) + (text.match(ODD_SPACES)?.length ?? 0);
  const words = lookalikes(text);
  const more = words.length - LOOKALIKES_SHOWN;
  return (
    <>
      {marks > 0 && <p class="help bad-text">{count(marks, "hidden character is", "hidden characters are")} shown as marks.</p>}
      {words.slice(0, LOOKALIKES_SHOWN).map((word) => <p key={word} class="help bad-text">Letters that look like others: {word}.</p>)}
      {more > 0 && <p class="help bad-text">{count(more, "more word has", "more words have")} such letters.</p>}
      {inRuns(text).length > 1 && <p class="help">Words are shown in the order in which they stand, also those that are written from right to left.</p>}
    </>
  );
}
