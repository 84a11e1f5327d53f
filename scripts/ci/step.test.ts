import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@countersign/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runStep } from './step.mjs'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'step-'))
})

afterAll(() => {
  rmSync(folder, { recursive: true })
})

const step = (script: string, minutes = 1) =>
  runStep({ name: 'one', command: ['bash', '-c', script], minutes }, folder, 'ignore')

// The checks run on Linux: what a step leaves behind is found in /proc.
describe.skipIf(process.platform !== 'linux')('a step', () => {
  it('passes with exit code 0', async () => {
    expect(await step('true')).toMatchObject({ name: 'one', status: 'passed' })
  })

  it('fails with any other exit code', async () => {
    expect(await step('exit 3')).toMatchObject({ status: 'failed', detail: 'ended with exit code 3' })
  })

  it('fails when its command is not there', async () => {
    const result = await runStep({ name: 'one', command: ['no-such-command'], minutes: 1 }, folder, 'ignore')
    expect(result).toMatchObject({ status: 'failed', detail: 'spawn no-such-command ENOENT' })
  })

  it('is killed with all it started when it takes too long', async () => {
    const result = await step('sleep 600 & echo $! > late; wait', 0.005)
    expect(result).toMatchObject({ status: 'failed', detail: 'took longer than 0.005 min' })
    await hasEnded('late')
  })

  it('fails when it leaves a process behind, also one in a session of its own, and ends that process', async () => {
    const script = "setsid bash -c 'echo $$ > left; exec sleep 601' & until [ -s left ]; do :; done"
    const result = await runStep({ name: 'one', command: ['bash', '-c', script], minutes: 1 }, folder, 'ignore', 100)
    expect(result).toMatchObject({ status: 'failed', detail: 'left processes behind: sleep 601' })
    await hasEnded('left')
  })
})

/** Whether the process runs whose id is in the file; one that ended and waits for its parent to look does not. */
/** A killed process is there for a moment more. */
function hasEnded(file: string): Promise<true> {
  return until('the end of the process', async () => (isAlive(file) ? undefined : true))
}

function isAlive(file: string): boolean {
  const pid = readFileSync(join(folder, file), 'utf8').trim()
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}
