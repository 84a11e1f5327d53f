/** An MCP server of a few lines, without an SDK: it misbehaves as its tools and arguments say. */
import { spawn } from 'node:child_process'
import { appendFileSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

const flags = new Set(process.argv.slice(2))
const note = (text) => process.env.NOTES && appendFileSync(process.env.NOTES, `${text}\n`)
const send = (message, then) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`, then)
const end = () => process.exit(0)
const text = (value) => ({ content: [{ type: 'text', text: value }] })

if (flags.has('--ends-at-once')) process.exit(7)
if (flags.has('--ignores-signals'))
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => note(name))
if (flags.has('--never-ends')) setInterval(() => {}, 1_000)
if (flags.has('--writes-garbage')) process.stdout.write('Server started\n\n{"half":\r\n\xff\xfe\n')
note(`pid ${process.pid}`)
if (flags.has('--starts-slowly')) for (const end = Date.now() + 1_000; Date.now() < end; );
process.on('SIGUSR2', () => lines.resume())

const child = () => {
  const program = "for (const s of ['SIGTERM','SIGINT','SIGHUP']) process.on(s, () => {}); setInterval(() => {}, 1000)"
  const { pid } = spawn(process.execPath, ['-e', program], { stdio: 'inherit' })
  note(`pid ${pid}`)
}
if (flags.has('--has-a-child')) child()

const TOOLS = {
  echo: (args) => text(JSON.stringify(args)),
  environment: () => text(JSON.stringify({ env: process.env, argv: process.argv })),
  big: ({ bytes }) => text('x'.repeat(bytes)),
  die: () => process.exit(3),
  hang: () => undefined,
  slow: () => undefined,
  last: () => text('the last one'),
  stop_reading: () => {
    lines.pause()
    // Nothing else keeps it.
    setInterval(() => {}, 1_000)
  },
  flood: ({ megabytes }) => {
    const line = JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { data: 'x'.repeat(1_000_000) },
    })
    for (let i = 1; i <= megabytes; i += 1) {
      writeSync(1, `${line}\n`)
      note(`flood ${i}`)
    }
    return text('flooded')
  },
  /** A line of the caller's. */
  raw: ({ before, piece, times, after }) => void process.stdout.write(`${before}${piece.repeat(times)}${after}\n`),
  half: () => void process.stdout.write('{"jsonrpc":"2.0","id":', () => process.exit(0)),
  garbage: () => {
    process.stdout.write('\n\r\nnot JSON\n{"jsonrpc":"1.0"}\n[]\nnull\n\x1b[31mred\n')
    return text('after garbage')
  },
  crlf: () => {
    process.stdout.write('{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"crlf"}}\r\n')
    return text('after crlf')
  },
  deep: () => {
    process.stdout.write(
      `{"jsonrpc":"2.0","method":"notifications/message","params":${'['.repeat(20_000)}${']'.repeat(20_000)}}\n`,
    )
    return text('after deep')
  },
}

const lines = createInterface({ input: process.stdin })
lines.on('line', (line) => {
  const { id, method, params, error } = JSON.parse(line)
  if (method === 'initialize') {
    const serverInfo = { name: 'raw', version: '1' }
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } })
  } else if (method === 'ping') {
    send({ id, result: {} })
  } else if (method === 'tools/list') {
    send(
      { id, result: { tools: Object.keys(TOOLS).map((name) => ({ name, inputSchema: { type: 'object' } })) } },
      flags.has('--ends-after-a-list') ? end : undefined,
    )
  } else if (method === 'tools/call') {
    note(`call ${params.name}`)
    const result = TOOLS[params.name](params.arguments ?? {})
    if (result !== undefined) send({ id, result }, params.name === 'last' ? end : undefined)
  } else if (id === undefined) {
    note(method)
  } else if (method === undefined) {
    note(`answer ${JSON.stringify(id)} ${error?.code}`)
  }
})
