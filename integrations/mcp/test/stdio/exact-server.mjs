/** An MCP server that reads and writes the text of messages alone, so that each number is what the other side has written. */
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const numbers = process.argv[2]
const note = (text) => process.env.NOTES && appendFileSync(process.env.NOTES, `${text}\n`)
const write = (text) => process.stdout.write(`${text}\n`)
const member = (line, name) => new RegExp(`"${name}":("[^"]*"|[^,}]*)`).exec(line)?.[1]

const ANSWERS = {
  '"initialize"':
    '"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "exact", "version": "1"}}',
  '"tools/list"': `"result": {"tools": [{"name": "echo", "inputSchema": {"type": "object", "maximum": 1E5}}], "ttlMs": 1.0}`,
  '"ping"': `"result": {"10": [${numbers}], "2": "\\u00e4\\/ 1.0"}`,
  '"fails"': `"error": {"code": -32050.0, "message": "1.0", "data": {"numbers": [${numbers}]}}`,
}

createInterface({ input: process.stdin }).on('line', (line) => {
  note(line)
  const [id, method] = [member(line, 'id'), member(line, 'method')]
  if (method === '"notifications/initialized"')
    write(`{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": [${numbers}]}}`)
  else if (method === '"asks"') {
    // The JSON text of an id, with other quotes.
    const as = member(line, 'as').slice(1, -1).replaceAll("'", '"')
    write(`{"jsonrpc": "2.0", "id": ${as}, "method": "roots/list", "params": {"numbers": [${numbers}]}}`)
    write(`{"jsonrpc": "2.0", "id": ${id}, "result": {}}`)
  } else if (method === '"tools/call"') {
    const given = /"arguments":(\{.*?\})/.exec(line)?.[1]
    write(
      `{"jsonrpc": "2.0", "id": ${id}, "result": {"content": [{"type": "text", "text": ${JSON.stringify(given)}}], "structuredContent": {"numbers": [${numbers}]}, "ttlMs": 1E5}}`,
    )
  } else if (ANSWERS[method] !== undefined) write(`{"jsonrpc": "2.0", "id": ${id}, ${ANSWERS[method]}}`)
})
