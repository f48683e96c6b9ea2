// Whatever the page draws goes through here, so nothing from outside is ever drawn unmarked.
import { Fragment, options, type ComponentChild, type ComponentChildren, type VNode } from "preact";
import { inWords, marked, visible } from "./visible";

/** Elements whose text can only be text. */
const TEXT_ONLY = new Set(["option", "title", "textarea", "style"]);
/** A word that has been through here. */
const UNBROKEN = "unbroken";
const SPOKEN = ["title", "alt", "aria-label", "placeholder", "download", "label"];

const original = options.vnode;
options.vnode = (vnode: VNode) => {
  original?.(vnode);
  const props = vnode.props as Record<string, unknown>;
  if (props.class === UNBROKEN) return;
  if (typeof vnode.type === "string") {
    for (const name of SPOKEN) if (typeof props[name] === "string") props[name] = visible(props[name]);
    props.children = TEXT_ONLY.has(vnode.type) ? asText(props.children as ComponentChildren) : withMarks(props.children as ComponentChildren);
  } else if (vnode.type === Fragment) {
    props.children = withMarks(props.children as ComponentChildren);
  }
};

function asText(children: ComponentChildren): ComponentChildren {
  return typeof children === "string" ? visible(children) : children;
}

/** More marks than these are text like any other: a browser takes seconds for millions of elements. */
const MANY = 10_000;

function withMarks(children: ComponentChildren): ComponentChildren {
  if (Array.isArray(children)) return children.map(withMarks) as ComponentChild[];
  if (typeof children !== "string") return children;
  const pieces = marked(children);
  if (pieces.length === 1) return withBreaks(children);
  if (pieces.length > MANY) return withBreaks(pieces.join(""));
  return pieces.map((piece, at) => (at % 2 ? <span class="odd" title="A character that is not shown, or that changes what is">{piece}</span> : withBreaks(piece)));
}

/** Words that break anywhere: a browser's time to find a place for each break grows with the square of the word. */
function withBreaks(text: string): ComponentChildren {
  const pieces = inWords(text);
  return pieces.length === 1 ? text : pieces.map((piece, at) => (at % 2 ? <span class={UNBROKEN}>{piece}</span> : piece));
}
