/** Runs every step of the checks, whatever fails, then adds up the reports. Called by `.ci/run`. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runStep } from './step.mjs'
import { plannedStages } from './steps.mjs'
import { closingLine, summarize, tierLine } from './summary.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const REPORTS = join(ROOT, 'reports')
/**
 * All steps together end within this, whatever each may take. On two quick processors they take about 25 minutes. Some machines
 * are half as quick, and a slow machine is no fault. The time limit of the workflow is above it.
 */
const TOTAL_MINUTES = 45

rmSync(REPORTS, { recursive: true, force: true })
mkdirSync(join(REPORTS, 'output'), { recursive: true })

const stages = plannedStages(ROOT)
/** @type {Map<import('./step.mjs').Step, import('./summary.mjs').StepResult>} */
const results = new Map(stages.flat(2).map((step) => [step, { name: step.name, status: 'not run' }]))
writeSteps()
for (const lanes of stages) await Promise.all(lanes.map((steps) => runLane(steps, lanes.length > 1)))

const summary = summarize(
  {
    steps: readReport('steps.json'),
    quick: readReport('vitest.json'),
    slow: readReport('vitest-slow.json'),
    browser: readReport('vitest-browser.json'),
    mongodb: readReport('vitest-mongodb.json'),
  },
  { root: ROOT, testFiles: listTestFiles(), allowedSkips: readJson(join(ROOT, '.ci', 'allowed-skips.json')) },
)
console.log(`\n=== Summary after ${Math.round(process.uptime())} s`)
for (const skip of summary.skips) console.log(`skipped  ${skip}`)
for (const fault of summary.faults) console.log(`failed   ${fault}`)
console.log(tierLine(summary))
console.log(closingLine(summary))
process.exitCode = summary.faults.length === 0 ? 0 : 1

/**
 * @param {import('./step.mjs').Step[]} steps
 * @param {boolean} hasNeighbours whose output would come between the lines
 */
async function runLane(steps, hasNeighbours) {
  for (const step of steps) {
    const title = `\n=== ${step.name}: ${step.command.join(' ')}`
    if (!hasNeighbours) console.log(title)
    const kept = join(REPORTS, 'output', `${step.name.replaceAll(/\W+/g, '-')}.log`)
    const output = hasNeighbours ? openSync(kept, 'w') : 'inherit'
    const minutes = Math.min(step.minutes, TOTAL_MINUTES - process.uptime() / 60)
    if (minutes > 0) results.set(step, await runStep({ ...step, minutes }, ROOT, output))
    if (typeof output === 'number') {
      closeSync(output)
      console.log(`${title}\n${readFileSync(kept, 'utf8')}`)
    }
    console.log(`--- ${step.name}: ${describe(results.get(step))}`)
    writeSteps()
  }
}

/** Written before and after each step, so that steps which a crash kept from running count as not run. */
function writeSteps() {
  writeFileSync(join(REPORTS, 'steps.json'), `${JSON.stringify({ steps: [...results.values()] }, null, 2)}\n`)
}

/** @param {string} name */
function readReport(name) {
  try {
    return readJson(join(REPORTS, name))
  } catch {
    return undefined
  }
}

/** @param {string} file */
function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

function listTestFiles() {
  const output = execFileSync('git', ['ls-files', '-z', '*.test.ts'], { cwd: ROOT, encoding: 'utf8' })
  return output.split('\0').filter((path) => path !== '')
}

/** @param {import('./summary.mjs').StepResult | undefined} result */
function describe({ status, seconds, detail } = { name: '', status: 'not run' }) {
  return `${status}${seconds === undefined ? '' : ` after ${seconds} s`}${detail ? ` (${detail})` : ''}`
}
