import type { Command, Fate } from './relay.js'
import { isWrite, WriteNames } from './relay-writes.js'

/** What befell the commands of one kind. */
interface Tally {
  sent: number
  /** Applied, and the answer never came. */
  cut: number
  /** The connection was closed before it came through. */
  lost: number
  /** The connection was closed, and then it came through. */
  late: number
  delayed: number
}

const NOTHING: Tally = { sent: 0, cut: 0, lost: 0, late: 0, delayed: 0 }
/** Behind what a start writes, which has enough to try again. */
const LATE_AT = 5
const WRITES = { cut: 0.02, lost: 0.005, late: 0.005, delayed: 0.1 }
/** The driver sends a write again by itself: only what is lost twice in a row comes to the store's notice. */
const TARGETED = { cut: 0.1, lost: 0.3, late: 0.05, delayed: 0.1 }
const READS = { cut: 0.001, lost: 0.001, late: 0, delayed: 0.05 }

/**
 * What becomes of each command that passes a relay, by seed. The first write of each kind is cut, the second one is lost
 * and the fifth one is late, so that no kind gets away because it is rare.
 */
export class Cuts {
  /** By kind of write. */
  readonly writes = new Map<string, Tally>()
  readonly reads: Tally = { ...NOTHING }
  /** Commands that do not ask for a majority, as they were sent. */
  readonly weak = new Set<string>()
  isFaulty = true
  readonly #names = new WriteNames()
  readonly #random: () => number
  readonly #target: string | undefined

  /** @param target the writes that break the most: `<command> <collection>` */
  constructor(random: () => number, target?: string) {
    this.#random = random
    this.#target = target
  }

  readonly fateOf = (command: Command): Fate => {
    this.#look(command)
    // All of them are made again when one fails.
    const mayBeLost = command.name !== 'createIndexes'
    const tallies = isWrite(command) ? this.namesOf(command).map((name) => this.#tallyOf(name)) : [this.reads]
    for (const tally of tallies) tally.sent += 1
    const isTarget = `${command.name} ${command.collection}` === this.#target
    const fate = this.isFaulty ? this.#draw(tallies, isTarget, mayBeLost) : 'passes'
    for (const tally of tallies) {
      if (fate === 'answer cut') tally.cut += 1
      if (fate === 'lost') tally.lost += 1
      if (fate === 'late') tally.late += 1
      if (fate === 'delayed') tally.delayed += 1
    }
    return fate
  }

  namesOf(command: Command): readonly string[] {
    return this.#names.of(command)
  }

  /** A line for each kind of write. */
  table(): string {
    const rows = [...this.writes].sort().map(([name, tally]) => rowOf(name, tally))
    return [...rows, rowOf('reads', this.reads)].join('\n')
  }

  #draw(tallies: readonly Tally[], isTarget: boolean, mayBeLost: boolean): Fate {
    const isRead = tallies.includes(this.reads)
    if (!isRead) {
      if (tallies.some(({ cut }) => cut === 0)) return 'answer cut'
      if (mayBeLost && tallies.some(({ lost }) => lost === 0)) return 'lost'
      if (mayBeLost && tallies.some(({ late, sent }) => late === 0 && sent >= LATE_AT)) return 'late'
    }
    const { cut, lost, late, delayed } = isTarget ? TARGETED : isRead ? READS : WRITES
    const draw = this.#random()
    if (draw < cut) return 'answer cut'
    if (draw < cut + lost) return 'lost'
    if (draw < cut + lost + late) return 'late'
    return draw < cut + lost + late + delayed ? 'delayed' : 'passes'
  }

  #tallyOf(name: string): Tally {
    const tally = this.writes.get(name) ?? { ...NOTHING }
    this.writes.set(name, tally)
    return tally
  }

  #look(command: Command): void {
    // What follows a read has the concern of the read.
    if (command.name === 'getMore') return
    const { writeConcern, readConcern } = command.read()
    const isStrong = isWrite(command)
      ? writeConcern?.w === 'majority' && writeConcern.j === true
      : readConcern?.level === 'majority'
    if (!isStrong)
      this.weak.add(`${command.name} ${command.collection} ${JSON.stringify({ writeConcern, readConcern })}`)
  }
}

function rowOf(name: string, { sent, cut, lost, late, delayed }: Tally): string {
  return `  ${name}: ${sent} sent, ${cut} answers cut, ${lost} lost, ${late} late, ${delayed} delayed`
}
