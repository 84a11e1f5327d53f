/** The names of the metrics: those of a real server, of the documentation, of the alert rules and of the dashboard. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ALLOWED, createPolicy, decide, REFUNDS } from './api/refunds.js'
import { type RunningServer, runServer } from './running-server.js'
import { scrape } from './scrape.js'

const textOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const ALERTS = 'deploy/prometheus/countersign.rules.yml'
const DASHBOARD = 'deploy/grafana/countersign.json'
const MONITORING = 'docs/monitoring.md'
/** Names that begin like a metric of this server, or of its process. */
const NAME = /\b(?:countersign|process|nodejs)_[a-z0-9_]+\b/g

let server: RunningServer
let text: string
let types: ReadonlyMap<string, string>
beforeAll(async () => {
  server = await runServer({ parts: { measureEveryMs: 20 } })
  await createPolicy(server, REFUNDS)
  await decide(server, ALLOWED)
  text = await scrape(server)
  types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]))
})
afterAll(() => server.stop())

/** The metric that a series belongs to. */
function metricOf(series: string): string {
  const histogram = series.replace(/_(bucket|count|sum)$/, '')
  return types.get(histogram) === 'histogram' ? histogram : series
}

function namesIn(path: string): Set<string> {
  return new Set((textOf(path).match(NAME) ?? []).map(metricOf))
}

const own = () => [...types.keys()].filter((name) => name.startsWith('countersign_'))

describe('a metric that is named', () => {
  it.each([ALERTS, DASHBOARD, MONITORING, 'docs/alerts.md', 'docs/audit.md'])('in %s is one of the server', (path) => {
    const wrong = [...namesIn(path)].filter((name) => !types.has(name))
    expect(wrong).toEqual([])
    expect(types.size).toBeGreaterThan(20)
  })
})

it('each metric of the server is documented with its type, and has a panel on the dashboard', () => {
  const page = textOf(MONITORING)
  for (const name of own()) expect(page).toContain(`| \`${name}\` | ${types.get(name)} |`)
  const shown = namesIn(DASHBOARD)
  expect(own().filter((name) => !shown.has(name))).toEqual([])
})

it('names follow the conventions of Prometheus: counters end with _total, and times are seconds', () => {
  for (const name of own()) {
    expect(name.endsWith('_total'), name).toBe(types.get(name) === 'counter')
    if (/duration|age|lag/.test(name)) expect(name).toMatch(/_seconds$|^countersign_audit_log_gaps$/)
    expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|percent)$/)
  }
})

it('labels have few values, and none that a caller chose', () => {
  const labels = new Set(
    [...text.matchAll(/^countersign_[^{\n]*\{([^}]*)\}/gm)].flatMap(([, found = '']) =>
      [...found.matchAll(/(\w+)="/g)].map(([, label]) => label),
    ),
  )
  expect([...labels].sort()).toEqual(['effect', 'le', 'method', 'part', 'reason_code', 'route', 'status'])
  for (const written of [ALLOWED.agent_id, ALLOWED.action, ALLOWED.resource, REFUNDS.name])
    expect(text).not.toContain(written)
})
