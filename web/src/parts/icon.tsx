// Line icons on a 24-unit grid; decoration only, the words beside them say the same.
const PATHS = {
  chat: "M4 5h16v11H9l-5 4z",
  inbox: "M4 13l3-8h10l3 8v6H4zM4 13h5l1 3h4l1-3h5",
  tools: "M14.5 6.5a4 4 0 0 1 5-1l-3 3 1.5 1.5 3-3a4 4 0 0 1-5.4 5.1L8 19.5 4.5 16l7.4-7.6a4 4 0 0 1 2.6-1.9z",
  runs: "M4 6h9M4 12h16M10 18h10",
  plus: "M12 5v14M5 12h14",
  send: "M5 12h13M12 5l7 7-7 7",
  stop: "M7 7h10v10H7z",
  check: "M5 12.5l4.5 4.5L19 7.5",
  cross: "M6 6l12 12M18 6L6 18",
  clock: "M12 7v5l3 2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z",
  ban: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM6 6l12 12",
  branch: "M7 5v14M7 14c0-4 10-2 10-8M17 6V5M7 19v1",
  retry: "M5 12a7 7 0 1 0 2.5-5.4M5 4v4h4",
  edit: "M4 20h4L19 9l-4-4L4 16z",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  chevron: "M9 6l6 6-6 6",
  file: "M7 3h7l4 4v14H7zM14 3v5h4",
  folder: "M3 6h6l2 2h10v11H3z",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M5 19l1.5-1.5M17.5 6.5L19 5",
  moon: "M20 14A8.5 8.5 0 0 1 10 4a8.5 8.5 0 1 0 10 10z",
  play: "M8 5l11 7-11 7z",
  pause: "M8 5v14M16 5v14",
  list: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  key: "M14 10a4 4 0 1 0-3.5 4L13 16.500h2.500V19H18v2h3v-3l-7.200-7.200",
  panel: "M4 5h16v14H4zM14 5v14",
  think: "M9 18h6M10 21h4M12 3a6 6 0 0 0-3.500 10.900c.7.6 1 1.300 1 2.100h5c0-.8.3-1.500 1-2.100A6 6 0 0 0 12 3z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, class: extra = "" }: { name: IconName; class?: string }) {
  return (
    <svg class={`icon ${extra}`} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
