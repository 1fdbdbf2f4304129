// Speech in and out, where the browser has it and the user wants it.

import { $ } from "./dom.js";
import { storage } from "./server.js";

const Recognition = window.SpeechRecognition ?? window.webkitSpeechRecognition;
const voice = window.speechSynthesis;
let listening = null;

/** Reads a reply aloud, if that is wanted. */
export function speak(text) {
  if (!$("speak").checked || !voice) return;
  voice.cancel();
  const utterance = new SpeechSynthesisUtterance(text.replaceAll("*", ""));
  utterance.lang = document.documentElement.lang;
  voice.speak(utterance);
}

/** Hands over what is heard: `onText(text, isFinal)`. */
export function setUpSpeech(onText) {
  const missing = [!Recognition && "understand speech", !voice && "read aloud"].filter(Boolean);
  $("no-speech").hidden = missing.length === 0;
  $("no-speech").textContent = `This browser cannot ${missing.join(" or ")}.`;
  for (const [id, can] of [["hear", Recognition], ["speak", voice]]) {
    $(id).disabled = !can;
    $(id).checked = Boolean(can) && storage.get("localStorage", `meno-${id}`) === "on";
    $(id).addEventListener("change", () => {
      storage.set("localStorage", `meno-${id}`, $(id).checked ? "on" : null);
      if (!$(id).checked && id === "speak") voice.cancel();
      drawButton();
    });
  }
  $("listen").addEventListener("click", () => (listening ? listening.stop() : listen(onText)));
  drawButton();
}

function drawButton() {
  $("listen").hidden = !$("hear").checked;
  $("listen").textContent = listening ? "Stop" : "Speak";
  $("listen").setAttribute("aria-pressed", String(Boolean(listening)));
}

function listen(onText) {
  voice?.cancel();
  listening = new Recognition();
  listening.lang = document.documentElement.lang;
  listening.interimResults = true;
  listening.onresult = ({ results }) => {
    const text = Array.from(results, ([best]) => best.transcript).join("").trim();
    onText(text, results[results.length - 1].isFinal);
  };
  listening.onerror = ({ error }) => {
    if (error === "no-speech" || error === "aborted") return;
    $("waiting").textContent = error === "not-allowed" ? "The browser may not use the microphone." : "Speech was not understood.";
  };
  listening.onend = () => {
    listening = null;
    drawButton();
  };
  listening.start();
  drawButton();
}
