/**
 * Checks what operators take for Prometheus and Grafana: the alert rules and their tests, and the queries of the dashboard, by
 * `promtool`.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const RULES = join(ROOT, 'deploy', 'prometheus')

promtool('check', 'rules', join(RULES, 'countersign.rules.yml'))
promtool('test', 'rules', join(RULES, 'countersign.rules.test.yml'))
checkQueries(JSON.parse(readFileSync(join(ROOT, 'deploy', 'grafana', 'countersign.json'), 'utf8')))

/** @param {{ panels: { title: string, targets?: { expr: string }[] }[] }} dashboard */
function checkQueries({ panels }) {
  // Grafana replaces its variables by text like this before it asks Prometheus.
  const asked = (/** @type {string} */ expr) => expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$\w+/g, '.*')
  const rules = panels
    .flatMap(({ targets = [] }) => targets)
    .map(({ expr }, i) => ({ record: `dashboard:query_${i}`, expr: asked(expr) }))
  const folder = mkdtempSync(join(tmpdir(), 'countersign-alerts-'))
  try {
    const file = join(folder, 'queries.yml')
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
    promtool('check', 'rules', file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @param {string[]} parameters */
function promtool(...parameters) {
  const { status, error } = spawnSync('promtool', parameters, { stdio: 'inherit' })
  if (error !== undefined)
    throw new Error('promtool cannot be run: scripts/ci/install-tools.sh installs it.', { cause: error })
  if (status !== 0) throw new Error(`promtool ${parameters.join(' ')} ended with ${status}.`)
}
