// Starts the workbench.
import { render } from "preact";
import "./mark";
import { App } from "./app";
import "./style/colours.css";
import "./style/base.css";
import "./style/frame.css";
import "./style/chat.css";
import "./style/call.css";
import "./style/views.css";

const root = document.getElementById("app")!;
root.textContent = "";
render(<App />, root);
