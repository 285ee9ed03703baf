import { homedir } from "node:os";
import { commands, ExtensionContext, window, workspace } from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

import { advice, launch, options } from "./launch";

let client: LanguageClient | undefined;

async function start(): Promise<void> {
  const settings = workspace.getConfiguration("nparam-lint");
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  let command = "nparam-lint";
  try {
    const server = launch(settings.get("command"), folder, homedir());
    command = server.command;
    client = new LanguageClient("nparam-lint", "nparam-lint", server, {
      documentSelector: [{ scheme: "file", language: "python" }],
      initializationOptions: options(workspace.isTrusted),
    });
    await client.start();
  } catch (error) {
    client = undefined;
    void window.showErrorMessage(advice(command, error));
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function restart(): Promise<void> {
  await stop();
  await start();
}

export async function activate(context: ExtensionContext): Promise<void> {
  context.subscriptions.push(
    commands.registerCommand("nparam-lint.restart", restart),
    workspace.onDidGrantWorkspaceTrust(() =>
      client?.sendNotification("workspace/didChangeConfiguration", {
        settings: { "nparam-lint": options(true) },
      }),
    ),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("nparam-lint.command")) {
        void restart();
      }
    }),
  );
  await start();
}

export const deactivate = stop;
