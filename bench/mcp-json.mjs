/**
 * How long the MCP proxy takes to read a message with its digits and to write it again, beside `JSON.parse` and `JSON.stringify` alone: CPU
 * of this process for each MiB of text. The texts are lists of one kind of value, in an object. The cases take turns, and ratios are taken inside a
 * round, so that a busy machine slows all of them alike.
 * Run: node bench/mcp-json.mjs
 */
import { parseJson, textOfJson } from '../integrations/mcp/dist/json/exact-json.js'
import { inTurns, median, ratioOf } from './parts/figures.mjs'
import { printTable } from './parts/table.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 9)
const MIB = 2 ** 20
const PIECES = ['1.0', '1E5', '9007199254740993', '1', '42.5', '0.1234567890123456', '"text"', '{"a":1.0}']

const rows = []
for (const piece of PIECES) {
  const text = `{"a":[${Array(Math.floor(MIB / (piece.length + 1)))
    .fill(piece)
    .join()}]}`
  const { exact, plain } = await inTurns(ROUNDS, {
    exact: () => cpuMs(() => textOfJson({ of: parseJson(text) })),
    plain: () => cpuMs(() => JSON.stringify({ of: JSON.parse(text) })),
  })
  rows.push([piece, ms(median(exact)), ms(median(plain)), `${ratioOf(exact, plain).toFixed(1)}x`])
}
printTable(['1 MiB of', 'with digits', 'JSON alone', 'ratio'], rows)

function cpuMs(work) {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

function ms(figure) {
  return `${figure.toFixed(1)} ms`
}
