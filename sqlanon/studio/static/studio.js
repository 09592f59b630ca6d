// The page holds no logic of its own: it sends what a person changes, and shows the parts that the server draws.
"use strict";

const store = {
  get: () => { try { return sessionStorage.getItem("token"); } catch { return null; } },
  set: (text) => { try { sessionStorage.setItem("token", text); } catch { /* a frame without storage */ } },
};
const token = location.hash.length > 20 ? location.hash.slice(1) : store.get() || "";
if (location.hash.length > 20) {
  store.set(token);
  history.replaceState(null, "", location.pathname);
}
let version = 0;
let revision = 0;
let timer = 0;
let showing = false;
const at = (id) => document.getElementById(id);

async function call(path, change) {
  const headers = { "X-Sqlanon-Token": token };
  const options = change === undefined ? { headers } : {
    method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(change),
  };
  return fetch(path, options);
}

function fault(text) {
  at("fault").textContent = text;
  at("fault").hidden = !text;
}

function show(name, html) {
  const part = at("part-" + name);
  if (!part) return;
  const open = new Set([...part.querySelectorAll("details[open]")].map((item) => item.id));
  const closed = new Set([...part.querySelectorAll("details:not([open])")].map((item) => item.id));
  const active = part.contains(document.activeElement) ? document.activeElement : null;
  const typed = active && active.dataset.edited ? active.value : null;
  const selection = active && typed !== null ? [active.selectionStart, active.selectionEnd] : null;
  part.innerHTML = html;
  for (const item of part.querySelectorAll("details[id]")) {
    if (open.has(item.id)) item.open = true;
    else if (closed.has(item.id)) item.open = false;
  }
  const again = active && active.id ? at(active.id) : null;
  if (!again) return;
  if (typed !== null) {
    again.value = typed;
    again.dataset.edited = "yes";
  }
  again.focus({ preventScroll: true });
  if (selection && again.setSelectionRange && again.type !== "number") again.setSelectionRange(...selection);
}

// What scrolls to the side can be reached by a keyboard in every browser.
function reach() {
  for (const item of document.querySelectorAll(".scroll")) {
    if (item.scrollWidth > item.clientWidth) item.tabIndex = 0;
    else item.removeAttribute("tabindex");
  }
}

async function look() {
  clearTimeout(timer);
  let wait = 1500;
  try {
    const answer = await call("/state?since=" + version);
    const state = await answer.json();
    if (!answer.ok) {
      fault(state.error);
      return;
    }
    version = state.version;
    revision = state.revision;
    for (const [name, html] of Object.entries(state.fragments)) show(name, html);
    if (Object.keys(state.fragments).length) reach();
    at("status").textContent = state.status.text;
    at("status").className = state.status.kind;
    document.body.classList.toggle("busy-now", state.busy);
    wait = state.busy ? 200 : 0;
    if (showing && !state.busy) {
      showing = false;
      at("part-released").scrollIntoView({ block: "nearest" });
    }
  } catch {
    at("status").textContent = "The studio has ended. Start it again with sqlanon studio.";
    at("status").className = "failed";
  }
  if (wait) timer = setTimeout(look, wait);
}

async function change(what) {
  fault("");
  try {
    const answer = await call("/change", what);
    if (!answer.ok) {
      const said = await answer.json();
      await look();
      fault(said.error + (said.hint ? " Hint: " + said.hint : ""));
      return false;
    }
  } catch { /* look says that the studio has ended */ }
  await look();
  return true;
}

async function save() {
  const answer = await call("/policy");
  if (!answer.ok) return fault((await answer.json()).error);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = "policy.yaml";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function asked(item, value) {
  const what = { action: item.dataset.action };
  if (item.dataset.place !== undefined) what.seen = revision; // of several models, the one that was meant
  for (const key of ["column", "name", "place", "lifts"]) if (item.dataset[key] !== undefined) what[key] = item.dataset[key];
  if (item.dataset.key) what[item.dataset.key] = value;
  else if (value !== undefined) what.value = value;
  return what;
}

// A value that was refused is not the policy's: a choice goes back, a text stays to be mended and is marked until then.
function refused(item) {
  if (item.tagName !== "SELECT") item.setAttribute("aria-invalid", "true");
  else for (const option of item.options) option.selected = option.defaultSelected;
}

function mended() {
  const wrong = document.querySelector("[aria-invalid]");
  if (wrong) {
    fault("A value on the page was refused and is not part of the policy. Hint: correct it first.");
    wrong.focus();
  }
  return !wrong;
}

document.addEventListener("input", (event) => { event.target.dataset.edited = "yes"; });
document.addEventListener("change", async (event) => {
  const item = event.target;
  delete item.dataset.edited;
  if (!item.dataset.action || (item.dataset.action === "add_model" && !item.value)) return;
  if (await change(asked(item, item.value))) item.removeAttribute("aria-invalid");
  else refused(item);
});
document.addEventListener("click", async (event) => {
  const item = event.target.closest("button[data-action]");
  if (!item) return;
  const action = item.dataset.action;
  if (["save", "publish", "compare"].includes(action) && !mended()) return;
  if (action === "save") await save();
  else if (action === "publish") {
    if (await change({ action, seen: revision, name: at("name").value, replace: at("replace").checked })) showing = true;
  }
  else if (action === "point") {
    if (await change({ action: "k", value: item.dataset.k })) await change({ action: "limit", value: item.dataset.limit });
  } else await change(asked(item, item.dataset.value));
});
document.addEventListener("toggle", reach, true);
addEventListener("resize", reach);
look();
