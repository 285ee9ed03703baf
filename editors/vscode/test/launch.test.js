const assert = require("node:assert/strict");
const { test } = require("node:test");

const { advice, launch, options } = require("../dist/test/launch.js");

test("the command of the settings is started as a language server", () => {
  assert.deepEqual(launch(["nparam-lint"], undefined, "/home/a"), {
    command: "nparam-lint",
    args: ["lsp", "--stdio"],
  });
});

test("directories stand in the command", () => {
  const command = ["${workspaceFolder}/.venv/bin/python", "-m", "nparam_lint"];
  assert.deepEqual(launch(command, "/work/nets", "/home/a"), {
    command: "/work/nets/.venv/bin/python",
    args: ["-m", "nparam_lint", "lsp", "--stdio"],
  });
  assert.equal(launch(["~/bin/nparam-lint"], undefined, "/home/a").command, "/home/a/bin/nparam-lint");
});

test("a command that is none is refused", () => {
  for (const setting of [[], undefined, "nparam-lint", [""]]) {
    assert.throws(() => launch(setting, undefined, "/"), /nparam-lint\.command is empty/);
  }
});

test("the server is told whether the folder is trusted", () => {
  assert.deepEqual(options(false), { trust: false });
});

test("a server that does not start says what to install", () => {
  const said = advice("nparam-lint", new Error("spawn nparam-lint ENOENT"));
  assert.match(said, /could not be started \(spawn nparam-lint ENOENT\).*pip install/);
});
