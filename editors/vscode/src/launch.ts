// How the server is started, and what it is told: all that can be tried without an editor.

export interface Launch {
  command: string;
  args: string[];
}

/** The command of the settings with `lsp`; `${workspaceFolder}` and `~` stand for directories. */
export function launch(setting: unknown, folder: string | undefined, home: string): Launch {
  const words = Array.isArray(setting) ? setting.filter((word) => typeof word === "string") : [];
  const [command, ...args] = words.map((word) =>
    word.replaceAll("${workspaceFolder}", folder ?? ".").replace(/^~(?=\/|\\|$)/, home),
  );
  if (!command) {
    throw new Error('the setting nparam-lint.command is empty, expected a command: ["nparam-lint"]');
  }
  return { command, args: [...args, "lsp", "--stdio"] };
}

/** What the server may do in this window: the editor asks whether a folder is trusted. */
export function options(isTrusted: boolean): { trust: boolean } {
  return { trust: isTrusted };
}

/** What to do when the server could not be started. */
export function advice(command: string, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return (
    `nparam-lint: ${command} could not be started (${reason}). ` +
    "Next: pip install 'nparam-lint[lsp]', or set nparam-lint.command."
  );
}
