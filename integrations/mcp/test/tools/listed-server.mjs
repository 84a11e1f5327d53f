/**
 * An MCP server of a few lines, without an SDK: its list is read from a file at each look, and notes are written beside it.
 * With `--announces` each call says that the list has changed.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [file, ...flags] = process.argv.slice(2)
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const note = (text) => appendFileSync(`${file}.notes`, `${text}\n`)

note(`key ${Object.keys(process.env).filter((name) => name.startsWith('COUNTERSIGN_')).length}`)
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') {
    const capabilities = { tools: { listChanged: true } }
    const { protocolVersion } = params
    send({ id: 'back', method: 'sampling/createMessage', params: {} })
    send({ id, result: { protocolVersion, capabilities, serverInfo: { name: 'listed', version: '1' } } })
  } else if (method === 'tools/list') {
    const pages = JSON.parse(readFileSync(file, 'utf8'))
    const at = Number(params?.cursor ?? 0)
    send({ id, result: { tools: pages[at], ...(at + 1 < pages.length && { nextCursor: `${at + 1}` }) } })
  } else if (method === 'tools/call') {
    note(`call ${params.name}`)
    if (flags.includes('--announces')) send({ method: 'notifications/tools/list_changed' })
    send({ id, result: { content: [{ type: 'text', text: 'did it' }] } })
  }
})
