// Text, images and files of a message or a result.
import type { BlobPart, Content } from "../types";
import { Icon } from "./icon";

const address = (blob: BlobPart) => (blob.data ? `data:${blob.media_type};base64,${blob.data}` : blob.url ?? "");

export function Blob({ blob }: { blob: BlobPart }) {
  const name = blob.name ?? blob.media_type;
  // Only what came along is shown: an address would be a request to another server.
  if (blob.data && blob.media_type.startsWith("image/")) return <img class="picture" src={address(blob)} alt={name} />;
  return <a class="button small" href={address(blob)} download={name} rel="noopener noreferrer"><Icon name="file" /> {name}</a>;
}

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
