"use strict";
// Browsers start no worker from a file. On a page that was opened from a disk the search runs in a hidden frame of the page instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(path) {
      super();
      const address = new URL(path, document.baseURI).href;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "Search";
      const said = (message) => this.dispatchEvent(new MessageEvent("message", { data: structuredClone(message) }));
      this.ready = new Promise((resolve, reject) => {
        const start = () => {
          const inside = frame.contentWindow;
          const load = (from) =>
            new Promise((done, failed) => {
              const script = inside.document.createElement("script");
              script.src = new URL(from, address).href;
              script.onload = done;
              script.onerror = failed;
              inside.document.body.append(script);
            });
          inside.postMessage = said;
          inside.importScripts = (...addresses) => addresses.reduce((earlier, next) => earlier.then(() => load(next)), Promise.resolve());
          load(address).then(() => resolve(inside), reject);
        };
        const add = () => {
          document.body.append(frame);
          start();
        };
        if (document.body) add();
        else document.addEventListener("DOMContentLoaded", add, { once: true });
      });
    }

    postMessage(message) {
      this.ready.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data: inside.structuredClone(message) })));
    }
  };
}
