// The bundle as the editor runs it, with a stand-in for the editor's own module, and a real server
// that is not there.
const assert = require("node:assert/strict");
const Module = require("node:module");
const { test } = require("node:test");

const shown = [];
const registered = [];

function editor(settings) {
  const nothing = () => ({ dispose() {} });
  const anything = new Proxy(class {}, {
    get: (target, name) => (name in target ? target[name] : anything),
    apply: () => anything,
    construct: () => anything,
  });
  const vscode = {
    commands: { registerCommand: (name) => (registered.push(name), nothing()) },
    window: { showErrorMessage: async (text) => void shown.push(text) },
    workspace: {
      isTrusted: false,
      workspaceFolders: [],
      getConfiguration: () => ({ get: (name) => settings[name] }),
      onDidGrantWorkspaceTrust: nothing,
      onDidChangeConfiguration: nothing,
    },
  };
  return new Proxy(vscode, { get: (known, name) => known[name] ?? anything });
}

test("a command that is wrong is told, and the editor goes on", async () => {
  const load = Module._load;
  Module._load = (name, ...rest) => (name === "vscode" ? editor({ command: [] }) : load(name, ...rest));
  try {
    const { activate, deactivate } = require("../dist/extension.js");
    const context = { subscriptions: [] };
    await activate(context);
    assert.equal(context.subscriptions.length, 3);
    await deactivate();
  } finally {
    Module._load = load;
  }
  assert.deepEqual(registered, ["nparam-lint.restart"]);
  assert.equal(shown.length, 1);
  assert.match(shown[0], /nparam-lint\.command is empty.*pip install 'nparam-lint\[lsp\]'/);
});
