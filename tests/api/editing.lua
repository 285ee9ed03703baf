-- A headless Neovim that opens a file with `nparam-lint lsp`, and writes what it shows into $SEEN:
-- diagnostics, code lenses, the hover of a line and, from version 0.10 on, inlay hints. Then it
-- mends the file, saves it, and writes what is shown then.
local seen, python, file = {}, vim.env.PYTHON, vim.env.FILE
local buffer

local function finish()
  local stream = io.open(vim.env.SEEN, "w")
  stream:write(vim.fn.json_encode(seen))
  stream:close()
  vim.cmd("qall!")
end

local function wait(what, condition)
  if not vim.wait(60000, condition, 20) then
    seen.error = "there was no " .. what
    finish()
  end
end

local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(buffer, method, params, 60000) or {}
  for _, answer in pairs(answers) do
    return answer.result
  end
end

local function messages()
  local found = {}
  for _, one in ipairs(vim.diagnostic.get(buffer)) do
    table.insert(found, one.lnum + 1 .. ": " .. (one.code or "") .. " " .. one.message)
  end
  return found
end

vim.opt.swapfile = false
vim.cmd("edit " .. file)
buffer = vim.api.nvim_get_current_buf()
vim.lsp.start_client({
  name = "nparam-lint",
  cmd = { python, "-m", "nparam_lint", "lsp" },
  root_dir = vim.env.ROOT,
  workspace_folders = { { uri = vim.uri_from_fname(vim.env.ROOT), name = "project" } },
  init_options = { trust = true },
  on_init = function(client)
    vim.lsp.buf_attach_client(buffer, client.id)
  end,
})
local document = { uri = vim.uri_from_fname(file) }
wait("diagnostic", function() return #vim.diagnostic.get(buffer) > 0 end)
seen.diagnostics = messages()
seen.lenses = {}
for _, lens in ipairs(ask("textDocument/codeLens", { textDocument = document })) do
  table.insert(seen.lenses, lens.range.start.line + 1 .. ": " .. lens.command.title)
end
local place = { line = 3, character = 8 }
seen.hover = ask("textDocument/hover", { textDocument = document, position = place }).contents.value
if vim.lsp.inlay_hint then
  vim.lsp.inlay_hint.enable(true, { bufnr = buffer })
  wait("inlay hint", function() return #vim.lsp.inlay_hint.get({ bufnr = buffer }) > 0 end)
  seen.hints = {}
  for _, one in ipairs(vim.lsp.inlay_hint.get({ bufnr = buffer })) do
    table.insert(seen.hints, one.inlay_hint.position.line + 1 .. ": " .. one.inlay_hint.label)
  end
end
vim.cmd("silent %substitute/1_000/110/")
vim.cmd("silent write")
wait("end of the finding", function() return #vim.diagnostic.get(buffer) == 0 end)
seen.mended = messages()
finish()
