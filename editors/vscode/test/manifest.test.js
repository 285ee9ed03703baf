const assert = require("node:assert/strict");
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { test } = require("node:test");

const manifest = require("../package.json");
const [matcher] = manifest.contributes.problemMatchers;

test("the problem matcher reads a line of --format concise", () => {
  const line = "nets/gpt.py:14:13: error: NPL001 GPT has 126M parameters, declared 124M: +2,000,000";
  const found = new RegExp(matcher.pattern.regexp).exec(line);
  const read = ["file", "line", "column", "severity", "code"].map((key) => found[matcher.pattern[key]]);
  assert.deepEqual(read, ["nets/gpt.py", "14", "13", "error", "NPL001"]);
  assert.match(found[matcher.pattern.message], /^GPT has 126M/);
});

test("nothing that a folder says is run before the folder is trusted", () => {
  const { supported, restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
  assert.equal(supported, "limited");
  assert.deepEqual(restrictedConfigurations, ["nparam-lint.command"]);
});

test("the bundle has all that it needs but the editor", () => {
  const bundle = readFileSync(join(__dirname, "..", manifest.main), "utf-8");
  const wanted = new Set([...bundle.matchAll(/\brequire\("([^"]+)"\)/g)].map((match) => match[1]));
  const others = [...wanted].filter((name) => !require("node:module").isBuiltin(name));
  assert.deepEqual(others, ["vscode"]);
});

test("the lock file names no registry", () => {
  const lock = readFileSync(join(__dirname, "..", "package-lock.json"), "utf-8");
  assert.doesNotMatch(lock, /"resolved"/);
});
