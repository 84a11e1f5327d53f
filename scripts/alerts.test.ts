/** What operators take for Prometheus and Grafana, beside the page that explains it. */
import { describe, expect, it } from 'vitest'
import { readText } from './repository-files.js'

const RULES = readText('deploy/prometheus/countersign.rules.yml')
const TESTS = readText('deploy/prometheus/countersign.rules.test.yml')
const PAGE = readText('docs/alerts.md')
const { repository } = JSON.parse(readText('package.json')) as { repository: { url: string } }

interface Rule {
  readonly name: string
  readonly text: string
}

const rules: readonly Rule[] = RULES.split(/^ +- alert: /m)
  .slice(1)
  .map((text) => ({ name: text.slice(0, text.indexOf('\n')), text }))

/** The values of a member of a rule. */
function valuesOf({ text }: Rule, member: string): string[] {
  return [...text.matchAll(new RegExp(`^ +${member}: (.+)$`, 'gm'))].map(([, value = '']) => value)
}

describe('the alert rules', () => {
  it('and the page have the same alerts, in the same order', () => {
    const headings = [...PAGE.matchAll(/^## (Countersign\w+)$/gm)].map(([, heading]) => heading)
    expect(rules.map(({ name }) => name)).toEqual(headings)
    expect(new Set(headings).size).toBe(headings.length)
    expect(headings.length).toBeGreaterThan(10)
  })

  it.each(rules)('$name has a severity, its texts, and a link to its section', (rule) => {
    expect(valuesOf(rule, 'severity')).toEqual([expect.stringMatching(/^(critical|warning|info)$/)])
    expect(valuesOf(rule, 'summary')).toEqual([expect.stringMatching(/\w/)])
    expect(valuesOf(rule, 'description')).toEqual([expect.stringMatching(/\w/)])
    const page = `${repository.url.replace(/^git\+|\.git$/g, '')}/blob/main/docs/alerts.md`
    expect(valuesOf(rule, 'runbook_url')).toEqual([`${page}#${rule.name.toLowerCase()}`])
  })

  it.each(rules)('$name has a test in which it fires, among others in which it does not', ({ name }) => {
    const fires = (test: string) => test.includes(`alertname="${name}"`)
    const tests = TESTS.split(/^ {2}- name: /m).slice(1)
    expect(tests.filter(fires)).not.toEqual([])
    const silent = tests.filter((test) => test.includes('exp_samples: []'))
    expect(silent.filter((test) => !fires(test))).not.toEqual([])
  })

  it('name each severity on the page', () => {
    const severities = new Set(rules.flatMap((rule) => valuesOf(rule, 'severity')))
    for (const severity of severities) expect(PAGE).toContain(`\`${severity}\` (`)
    expect(severities.size).toBe(3)
  })
})

interface Place {
  readonly h: number
  readonly w: number
  readonly x: number
  readonly y: number
}

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly datasource?: { readonly type: string; readonly uid: string }
  readonly gridPos: Place
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly datasource: object }[]
}

describe('the dashboard of Grafana', () => {
  const dashboard = JSON.parse(readText('deploy/grafana/countersign.json')) as {
    readonly schemaVersion: number
    readonly id: null
    readonly panels: readonly Panel[]
    readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] }
  }
  const { panels } = dashboard
  const charts = panels.filter(({ type }) => type !== 'row')

  it('can be imported by Grafana 10.4: a schema of that release, and no id of another Grafana', () => {
    expect([dashboard.schemaVersion, dashboard.id]).toEqual([39, null])
    expect(panels.map(({ id }) => id)).toEqual(panels.map((_, i) => i + 1))
    expect(new Set(charts.map(({ type }) => type))).toEqual(new Set(['stat', 'timeseries']))
  })

  it('has a row for each subject', () => {
    expect(panels.filter(({ type }) => type === 'row').map(({ title }) => title)).toEqual([
      ...['Decisions', 'Latency', 'Reviews', 'Budgets', 'Audit log', 'Webhooks and feed', 'Store', 'Process'],
    ])
  })

  it('asks the Prometheus that the reader chooses, for the servers that the reader chooses', () => {
    const source = { type: 'prometheus', uid: '$' + '{datasource}' }
    expect(dashboard.templating.list.map(({ name, type }) => [name, type])).toEqual([
      ['datasource', 'datasource'],
      ['job', 'query'],
      ['instance', 'query'],
    ])
    for (const { title, description, datasource, targets = [] } of charts) {
      expect(datasource, title).toEqual(source)
      expect(description, title).toMatch(/\.$/)
      expect(targets.length, title).toBeGreaterThan(0)
      expect(new Set(targets.map(({ refId }) => refId)).size, title).toBe(targets.length)
      for (const target of targets) {
        expect(target.datasource, title).toEqual(source)
        expect(target.expr, title).toContain('{job=~"$job", instance=~"$instance"')
      }
    }
  })

  it('has its panels in 24 columns, and none over another', () => {
    const taken = new Map<string, string>()
    for (const { title, gridPos } of panels) {
      const { h, w, x, y } = gridPos
      expect(x + w, title).toBeLessThanOrEqual(24)
      for (let column = x; column < x + w; column += 1)
        for (let line = y; line < y + h; line += 1) {
          expect(taken.get(`${column}/${line}`), title).toBeUndefined()
          taken.set(`${column}/${line}`, title)
        }
    }
  })
})
