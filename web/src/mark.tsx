// Whatever the page draws goes through here, so nothing from outside is ever drawn unmarked.
import { Fragment, options, type ComponentChild, type ComponentChildren, type VNode } from "preact";
import { marked, visible } from "./visible";

/** Elements whose text can only be text. */
const TEXT_ONLY = new Set(["option", "title", "textarea", "style"]);
const SPOKEN = ["title", "alt", "aria-label", "placeholder", "download", "label"];

const original = options.vnode;
options.vnode = (vnode: VNode) => {
  original?.(vnode);
  const props = vnode.props as Record<string, unknown>;
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

function withMarks(children: ComponentChildren): ComponentChildren {
  if (Array.isArray(children)) return children.map(withMarks) as ComponentChild[];
  if (typeof children !== "string") return children;
  const pieces = marked(children);
  if (pieces.length === 1) return children;
  return pieces.map((piece, at) => (at % 2 ? <span class="odd" title="A character that is not shown, or that changes what is">{piece}</span> : piece));
}
