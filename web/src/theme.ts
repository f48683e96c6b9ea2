// Light or dark: as the system has it, until the person chooses.
import { useEffect, useState } from "preact/hooks";

type Theme = "light" | "dark";
const KEY = "toolwright-theme";

function wanted(): Theme {
  const chosen = localStorage.getItem(KEY);
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState(wanted);
  useEffect(() => { document.documentElement.dataset.theme = theme; }, [theme]);
  useEffect(() => {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => setTheme(wanted());
    system.addEventListener("change", follow);
    return () => system.removeEventListener("change", follow);
  }, []);
  const flip = () => {
    const other = theme === "dark" ? "light" : "dark";
    localStorage.setItem(KEY, other);
    setTheme(other);
  };
  return [theme, flip];
}
