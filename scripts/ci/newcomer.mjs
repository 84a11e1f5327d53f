/**
 * Types what the pages say, in an empty folder with an empty cache of npm, on the Node of the PATH:
 * node scripts/ci/newcomer.mjs doors|programs <registry>
 */
import { checkDoors } from './newcomer/doors.mjs'
import { withServer } from './newcomer/first-decision.mjs'
import { Machine } from './newcomer/machine.mjs'
import { textOf } from './newcomer/pages.mjs'
import { checkPrograms } from './newcomer/programs.mjs'
import { commandBlocks } from './readme.mjs'

const [part = '', registry = ''] = process.argv.slice(2)
const [start, ...others] = commandBlocks(textOf('docs/install.md'), { isReader: true })
const machine = await Machine.open(registry)
try {
  await withServer(machine, start?.command ?? '', (key) =>
    part === 'doors' ? checkDoors(machine, others, key) : checkPrograms(machine, key),
  )
} finally {
  machine.remove()
}
