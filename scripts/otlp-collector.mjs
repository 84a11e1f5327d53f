/** Installs the collector for the tests of traces, with Python, into a folder of its own. */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** Without `typing-extensions`, which only its Python code needs. */
const PIP = ['install', '--quiet', '--no-deps', '--only-binary', ':all:', '--require-hashes']

/**
 * A failure is printed, and fails the tests of traces alone: not every machine has a Python that this collector is built for.
 * @param {string} root
 */
export async function prepareCollector(root) {
  const wanted = join(root, 'tools', 'otlp-collector', 'requirements.txt')
  const folder = join(root, 'node_modules', '.countersign', 'otlp-collector')
  const installed = join(folder, 'installed.txt')
  if (existsSync(installed) && readFileSync(installed, 'utf8') === readFileSync(wanted, 'utf8')) return
  try {
    rmSync(folder, { recursive: true, force: true })
    await run('python3', ['-m', 'venv', folder])
    await run(join(folder, 'bin', 'pip'), [...PIP, '--requirement', wanted])
    cpSync(wanted, installed)
  } catch (error) {
    const { stderr, message } = /** @type {Error & { stderr?: string }} */ (error)
    process.stderr.write(`The collector could not be installed; tests of traces will fail: ${stderr || message}\n`)
  }
}
