// Text, images, sounds and files of a message or a result.
import type { BlobPart, Content } from "../types";
import { Icon } from "./icon";
import { LinkOut, webHost } from "./link";

export function Blob({ blob }: { blob: BlobPart }) {
  const name = blob.name || blob.media_type;
  if (!blob.data) return blob.url ? <Elsewhere name={name} url={blob.url} /> : <Unlinked name={name} why="empty file" />;
  const type = typeOf(blob);
  const address = `data:${type};base64,${blob.data}`;
  // Only what came along is shown: an address would be a request to another server.
  if (type.startsWith("image/")) return <img class="picture" src={address} alt={name} />;
  if (type.startsWith("audio/")) return <audio class="picture" controls src={address} aria-label={name} />;
  if (type.startsWith("video/")) return <video class="picture" controls src={address} aria-label={name} />;
  return <a class="button small" href={address} download={name} rel="noopener noreferrer"><Icon name="file" /> {name}</a>;
}

/** The media type without its parameters: a comma in one would end the head of a data address. */
function typeOf(blob: BlobPart): string {
  const type = blob.media_type.split(";")[0]!.trim().toLowerCase();
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : "application/octet-stream";
}

/** A file on another server: people see where a link leads before they follow it. */
function Elsewhere({ name, url }: { name: string; url: string }) {
  if (!webHost(url)) return <Unlinked name={name} why="no web address" />;
  return <LinkOut address={url} class="button small"><Icon name="file" /> {name}</LinkOut>;
}

const Unlinked = ({ name, why }: { name: string; why: string }) => (
  <p class="quiet"><Icon name="file" /> {name} ({why})</p>
);

export function Contents({ parts }: { parts: Content[] }) {
  return (
    <>
      {parts.map((part, index) =>
        part.kind === "text"
          ? part.text && <pre key={index} class="result" tabIndex={0}>{part.text}</pre>
          : <Blob key={index} blob={part} />)}
    </>
  );
}

export const textOf = (parts: Content[]) =>
  parts.filter((part) => part.kind === "text").map((part) => part.text).join("\n");
