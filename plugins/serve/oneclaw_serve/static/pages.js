// A page that changes by itself: look for news now and then, and show them. All else works without scripts.

const policy = globalThis.trustedTypes?.createPolicy("oneclaw", { createHTML: (html) => html });
const main = document.getElementById("main");

async function look() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (response?.ok) {
    const text = await response.text();
    const found = new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html").getElementById("main");
    if (found.innerHTML !== main.innerHTML) main.replaceChildren(...found.childNodes);
    if (!found.dataset.refresh) return;
  }
  wait();
}

function wait() { setTimeout(look, Number(main.dataset.refresh) * 1000); }

if (main.dataset.refresh) wait();
document.querySelector("nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
