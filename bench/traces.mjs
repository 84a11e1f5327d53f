/**
 * What the export of spans costs a decision: CPU of the server and of its main thread, and the waits of 20 callers, without an
 * export, with one, and with one that records a tenth of the requests. The callers send a `traceparent`, as a traced agent does. The
 * servers, the callers and the collector are processes of their own; the collector answers at once. The servers take turns, and
 * ratios are taken inside a round, so that a busy machine slows all of them alike. With `BASELINE`, the path of another built
 * checkout, its server takes part, too.
 * Run: node bench/traces.mjs
 */
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cpuOf } from './parts/cpu.mjs'
import { inTurns, median, ratioOf } from './parts/figures.mjs'
import { policies, requests } from './parts/question.mjs'
import { KEY, startServer } from './parts/server.mjs'
import { printTable } from './parts/table.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 9)
const ROUND_MS = 3_000
const CONNECTIONS = 20
const { BASELINE } = process.env

const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
const collector = fork(fileURLToPath(new URL('parts/collector.mjs', import.meta.url)))
const callers = fork(fileURLToPath(new URL('parts/callers.mjs', import.meta.url)))
const children = [collector, callers]
try {
  const [{ port }] = await once(collector, 'message')
  const exporting = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` }
  const tenth = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.1' }
  const settings = {
    ...(BASELINE !== undefined && { 'the other checkout': { checkout: BASELINE } }),
    'no export': {},
    'export of all': { env: exporting },
    'export of a tenth': { env: { ...exporting, ...tenth } },
  }
  callers.send({ kind: 'decide', requests: requests.map(textOf), needle: '"effect":"allow"' })
  await once(callers, 'message')
  const servers = {}
  for (const [name, { env, checkout }] of Object.entries(settings)) {
    const own = join(directory, name)
    mkdirSync(own)
    servers[name] = await startServer(own, env, checkout)
    children.push(servers[name].child)
    await fill(servers[name].port)
  }
  const cases = Object.entries(servers).map(([name, server]) => [name, () => measure(server)])
  report(await inTurns(ROUNDS, Object.fromEntries(cases)), Object.keys(settings)[0])
} finally {
  for (const child of children) {
    child.kill()
    await (child.exitCode ?? child.signalCode ?? once(child, 'exit'))
  }
  rmSync(directory, { recursive: true })
}

async function fill(port) {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ ...policies()[0], agents: ['agent:*'] })
  const { status } = await fetch(`http://127.0.0.1:${port}/v1/policies`, { method: 'POST', headers, body })
  if (status !== 201) throw new Error(`the policy could not be written: ${status}`)
}

function textOf(question) {
  const body = JSON.stringify(question)
  const head = [
    'POST /v1/decisions HTTP/1.1',
    'host: bench',
    `authorization: Bearer ${KEY}`,
    'content-type: application/json',
    // A trace that the caller records.
    `traceparent: 00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`,
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

/** Microseconds of CPU for a decision, and milliseconds of waiting. */
async function measure({ port, pid }) {
  const before = cpuOf(pid)
  callers.send({ kind: 'decide', port, connections: CONNECTIONS, forMs: ROUND_MS })
  const [{ answers, elapsedMs, p50Ms, p99Ms }] = await once(callers, 'message')
  const after = cpuOf(pid)
  const cpuUs = (after.all - before.all) / 1000 / answers
  return {
    cpuUs,
    mainUs: (after.main - before.main) / 1000 / answers,
    p50Ms,
    p99Ms,
    perSecond: (answers * 1000) / elapsedMs,
  }
}

function report(figures, first) {
  console.log(`medians of ${ROUNDS} rounds of ${ROUND_MS / 1000} s, ${CONNECTIONS} callers; ratios against: ${first}\n`)
  const columns = { perSecond: 0, cpuUs: 0, mainUs: 0, p50Ms: 1, p99Ms: 1 }
  const rows = Object.entries(figures).map(([name, rounds]) => [
    name,
    ...Object.entries(columns).map(([member, digits]) => {
      const of = (all) => all.map((one) => one[member])
      return `${median(of(rounds)).toFixed(digits)} (${ratioOf(of(rounds), of(figures[first])).toFixed(2)}x)`
    }),
  ])
  printTable(['', 'decisions/s', 'CPU us', 'main thread us', 'p50 ms', 'p99 ms'], rows)
}
