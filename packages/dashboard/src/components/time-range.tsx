import { Group, Select, Text } from '@mantine/core'
import { useState } from 'react'
import { TimeInput } from './time-input'

const HOUR_MS = 3_600_000
const PRESETS = {
  hour: { label: 'Last hour', ms: HOUR_MS },
  day: { label: 'Last 24 hours', ms: 24 * HOUR_MS },
  week: { label: 'Last 7 days', ms: 7 * 24 * HOUR_MS },
  month: { label: 'Last 30 days', ms: 30 * 24 * HOUR_MS },
} as const
type Preset = keyof typeof PRESETS

const EXACT = 'exact'
const OPTIONS = [
  ...Object.entries(PRESETS).map(([value, { label }]) => ({ value, label })),
  { value: EXACT, label: 'From … to …' },
]

/** Times in RFC 3339; absent for no bound. */
export interface Range {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export interface TimeRangeProps {
  /** The range that applies. */
  readonly range: Range
  /** The range as typed. It applies when the user leaves the field. */
  readonly draft: Range
  readonly onDraft: (range: Range) => void
  readonly onChange: (range: Range) => void
}

/** A range of time: a preset, or exact times. A preset becomes an exact time, so that a shared URL shows the same list. */
export function TimeRange({ range, draft, onDraft, onChange }: TimeRangeProps) {
  const [chosen, setChosen] = useState<{ readonly name: Preset; readonly from: string } | null>(null)
  const [isExact, setExact] = useState(false)
  const isBound = range.from !== undefined || range.to !== undefined
  const isPreset = chosen !== null && chosen.from === range.from && range.to === undefined
  const choose = (name: string | null) => {
    setExact(name === EXACT)
    if (name === EXACT) return
    const from = name === null ? undefined : startOf(name as Preset)
    setChosen(from === undefined ? null : { name: name as Preset, from })
    onChange({ from, to: undefined })
  }
  const fields = { w: 250, maw: '100%', step: 1, onLeave: () => onChange(draft) }
  return (
    <>
      <Select
        label="Time"
        w={165}
        clearable
        clearButtonProps={{ 'aria-label': 'Any time' }}
        placeholder="any"
        data={OPTIONS}
        value={isExact ? EXACT : isPreset ? chosen.name : isBound ? EXACT : null}
        onChange={choose}
      />
      {(isExact || isBound) && (
        <Group gap="xs" align="flex-end">
          <TimeInput
            label="From"
            {...fields}
            value={draft.from ?? null}
            onChange={(from) => onDraft({ ...draft, from: from ?? undefined })}
          />
          <TimeInput
            label="To"
            {...fields}
            value={draft.to ?? null}
            onChange={(to) => onDraft({ ...draft, to: to ?? undefined })}
          />
          {isBackwards(draft) && (
            <Text size="sm" mb={8} style={{ color: 'var(--deny)' }} role="alert">
              “To” must be after “From”.
            </Text>
          )}
          <Text size="sm" className="quiet" mb={8}>
            Times are in {timeZoneName()}.
          </Text>
        </Group>
      )}
    </>
  )
}

/** Returns the start of a preset, cut to seconds, which is the precision of the fields. */
function startOf(name: Preset): string {
  return `${new Date(Date.now() - PRESETS[name].ms).toISOString().slice(0, 19)}.000Z`
}

function isBackwards({ from, to }: Range): boolean {
  return from !== undefined && to !== undefined && Date.parse(to) <= Date.parse(from)
}

/** Returns the current time zone of the browser, such as `Europe/Berlin (GMT+1)`. */
function timeZoneName(): string {
  const format = new Intl.DateTimeFormat('en', { timeZoneName: 'shortOffset' })
  const offset = format.formatToParts().find(({ type }) => type === 'timeZoneName')?.value
  return `${format.resolvedOptions().timeZone} (${offset})`
}
