// Connects OpenCode to Windlass for one turn: asks before each tool, keeps the session from stopping, and prints
// what `opencode run --format json` leaves out. Windlass puts a line with the constant `turn` before this text.

import { spawn } from "node:child_process"
import fs from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"

const SCHEMA = '\n  "$schema": "https://opencode.ai/config.json",'
const IGNORED = ["node_modules", "package.json", "package-lock.json", "bun.lock", ".gitignore"].join("\n")
// Windlass wrote this file just before it started OpenCode.
const STARTED = fs.statSync(fileURLToPath(import.meta.url)).mtimeMs
// OpenCode waits between two attempts for at most half a minute, unless the service names a time.
const LONG_WAIT = 60_000
const LAST_PARTS = ["step-start", "step-finish"]

// These variables were for the start of OpenCode alone. Programs that it starts get the user's own.
for (const [name, value] of Object.entries(turn.restore)) {
  if (value === null) delete process.env[name]
  else process.env[name] = value
}

// The session of this turn. Other sessions belong to subagents.
let own = null
// `opencode run` prints nothing after its session was idle once. Then this plugin prints for it.
let prints = false
let stopped = false
let servers = []

function print(type, sessionID, more) {
  process.stdout.write(JSON.stringify({ type, timestamp: Date.now(), sessionID, ...more }) + "\n")
}

function ask(event, unanswered, payload) {
  return new Promise((resolve) => {
    const env = { ...process.env, ...turn.env }
    const hook = spawn(turn.windlass, ["hook", event, unanswered], { env, stdio: ["pipe", "pipe", "pipe"] })
    const said = { out: "", err: "" }
    hook.stdout.setEncoding("utf8").on("data", (text) => (said.out += text))
    hook.stderr.setEncoding("utf8").on("data", (text) => (said.err += text))
    hook.on("error", (error) => resolve({ code: 2, out: "", err: String(error) }))
    hook.on("close", (code) => resolve({ code: code ?? 2, ...said }))
    hook.stdin.on("error", () => {})
    hook.stdin.end(JSON.stringify(payload))
  })
}

async function permit(payload) {
  const { code, out, err } = await ask("opencode_tool", "--closed", payload)
  if (code !== 0) throw new Error(err.trim() || "Windlass did not permit this tool")
  if (out === "") return
  const answer = JSON.parse(out)
  if (answer.decision !== "allow") throw new Error(answer.reason || "Windlass did not permit this tool")
}

// A patch may change several files. Rules are about one file, so each is asked about.
function inputs(tool, args) {
  if (tool !== "apply_patch") return [args]
  const heads = String(args.patchText).matchAll(/^\s*\*\*\* (?:Add File|Update File|Delete File|Move to):(.*)$/gm)
  const files = [...new Set([...heads].map((head) => head[1].trim()))]
  return files.length === 0 ? [args] : files.map((filePath) => ({ filePath }))
}

function serverOf(tool) {
  return servers.find((name) => tool.startsWith(name.replace(/[^a-zA-Z0-9_-]/g, "_") + "_"))
}

// Returns the kind of line in which `opencode run` prints a part, if it prints it.
function lineOf(part) {
  if (LAST_PARTS.includes(part.type)) return part.type.replace("-", "_")
  if (part.type === "tool") return ["completed", "error"].includes(part.state.status) ? "tool_use" : null
  if (part.type === "text" || part.type === "reasoning") return part.time?.end ? part.type : null
  return null
}

function onPart(part) {
  const line = lineOf(part)
  if (!line) return
  if (part.sessionID !== own) print("windlass_side", own, { line, part })
  else if (prints) print(line, own, { part })
}

// A subagent may wait as well, and the session waits for it.
function onRetry(client, { attempt, message, next }) {
  const gives_up = next - Date.now() > LONG_WAIT
  print("windlass_retry", own, { attempt, message, next, gives_up })
  if (gives_up) void client.session.abort({ path: { id: own } }).catch(() => {})
}

function onEvent(client, { type, properties }) {
  if (own === null || stopped) return
  if (type === "message.part.updated") onPart(properties.part)
  if (type === "session.status" && properties.status.type === "retry") onRetry(client, properties.status)
  if (properties.sessionID !== own) return
  if (type === "session.status" && properties.status.type === "idle") prints = true
  if (type === "session.error" && properties.error) print("windlass_error", own, { error: properties.error })
}

// Lets a later turn find the database by the id of the session.
function nameDatabase() {
  const name = path.join(path.dirname(turn.database), `${own}.db`)
  if (!fs.existsSync(name)) fs.symlinkSync(path.basename(turn.database), name)
}

// Works on a prompt until the run lets the session stop. Returns the exit code.
async function work(client, { agent, model, variant }, prompt) {
  let parts = prompt.filter((part) => part.type === "text").map(({ text }) => ({ type: "text", text }))
  for (;;) {
    const body = { agent, model, variant, parts }
    const { data, error } = await client.session.prompt({ path: { id: own }, body })
    if (error || data.info.error) return 1
    const texts = data.parts.filter((part) => part.type === "text").map((part) => part.text)
    const { out } = await ask("opencode_stop", "--open", { last_message: texts.join("\n"), cwd: turn.cwd })
    const reason = out === "" ? null : JSON.parse(out).reason
    if (!reason) return 0
    parts = [{ type: "text", text: reason }]
  }
}

// Ends OpenCode after everything is printed. `opencode run` would answer the first prompt once more.
async function exit(code) {
  stopped = true
  await new Promise((resolve) => process.stdout.write("", resolve))
  process.exit(code)
}

function read(file) {
  try {
    return fs.statSync(file).mtimeMs >= STARTED ? fs.readFileSync(file, "utf8") : null
  } catch {
    return null
  }
}

// Removes what OpenCode wrote into a folder of settings when it read them.
function tidy(folder) {
  const ignore = path.join(folder, ".gitignore")
  if (read(ignore) === IGNORED) fs.rmSync(ignore)
  for (const name of ["opencode.json", "opencode.jsonc"]) {
    const file = path.join(folder, name)
    const text = read(file)
    if (text?.startsWith("{" + SCHEMA)) fs.writeFileSync(file, "{" + text.slice(1 + SCHEMA.length))
  }
}

function tidyAll(directory, worktree) {
  const folders = [...turn.tidy]
  for (let folder = directory; ; folder = path.dirname(folder)) {
    folders.push(folder, path.join(folder, ".opencode"))
    if (folder === worktree || folder === path.dirname(folder)) break
  }
  for (const folder of folders) {
    try {
      tidy(folder)
    } catch (error) {
      console.error(`windlass: cannot tidy up ${folder}: ${error}`)
    }
  }
}

export default {
  id: "windlass",
  server: async ({ client, directory, worktree }) => {
    tidyAll(directory, worktree)
    // OpenCode may read its settings once more just before it ends.
    process.on("exit", () => tidyAll(directory, worktree))
    return {
      config: async (config) => {
        // Without this plugin, this rule denies every tool.
        delete config.permission[turn.gate]
        servers = Object.keys(config.mcp ?? {}).sort((a, b) => b.length - a.length)
      },
      event: async ({ event }) => onEvent(client, event),
      "chat.message": async (input, { message, parts }) => {
        if (own !== null) return
        own = input.sessionID
        nameDatabase()
        print("windlass_start", own, { model: `${message.model.providerID}/${message.model.modelID}` })
        if (!turn.holds) return
        let code = 1
        try {
          code = await work(client, input, parts)
        } catch (error) {
          print("windlass_error", own, { error: { name: "UnknownError", data: { message: String(error) } } })
        }
        await exit(code)
      },
      "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
        const side = sessionID !== own
        print("windlass_tool", own, { tool, callID, input: args, side })
        for (const input of inputs(tool, args)) {
          await permit({ tool, callID, server: serverOf(tool), cwd: turn.cwd, input })
        }
      },
    }
  },
}
