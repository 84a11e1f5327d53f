/**
 * Checks the files that deploy a server, with the tools that their users have: the Helm chart with Helm and kubeconform, the compose
 * files with the schema of compose, the workflows with actionlint. It needs no cluster and no engine.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkChart, NEWEST, OLDEST } from './deployment/chart.mjs'
import { checkCompose } from './deployment/compose.mjs'
import { fromGo, helms, kubernetesSchemas, run } from './deployment/tools.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const folder = mkdtempSync(join(tmpdir(), 'countersign-deployment-'))
try {
  const { kubeconform, actionlint, composeSchema } = fromGo(folder)
  checkWorkflows(actionlint)
  checkCompose(ROOT, composeSchema)
  const schemas = kubernetesSchemas(folder, [OLDEST, NEWEST])
  const { helm3, helm4 } = helms(folder)
  checkChart({ helm: helm4, kubeconform, schemas, root: ROOT }, [OLDEST, NEWEST])
  checkChart({ helm: helm3, kubeconform, schemas, root: ROOT }, [NEWEST])
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** @param {string} actionlint */
function checkWorkflows(actionlint) {
  const workflows = join(ROOT, '.github', 'workflows')
  const names = readdirSync(workflows)
  run(actionlint, ['-no-color', ...names.map((name) => join(workflows, name))])
  const wrong = join(folder, 'wrong.yml')
  const text = readFileSync(join(workflows, 'ci.yml'), 'utf8').replace('runs-on: ', 'runs-no: ')
  writeFileSync(wrong, text)
  if (spawnSync(actionlint, [wrong]).status !== 1) throw new Error('actionlint finds no fault.')
  console.log(`${names.length} workflows are valid.`)
}
