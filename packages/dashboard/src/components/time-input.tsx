import { TextInput, type TextInputProps } from '@mantine/core'
import { useState } from 'react'
import { localTime } from './time'

export interface TimeInputProps extends Pick<TextInputProps, 'label' | 'description' | 'required' | 'w' | 'maw'> {
  /** RFC 3339 in UTC; null when the field is empty or incomplete. */
  readonly value: string | null
  readonly onChange: (at: string | null) => void
  /** The precision in seconds. Default: 60. */
  readonly step?: number
  /** Called when the field loses focus and is empty or complete. */
  readonly onLeave?: () => void
}

/** The lengths of `2026-11-21T10:00` and `2026-11-21T10:00:00`. */
const LENGTH = { minute: 16, second: 19 }

/** A field for a time in the browser's time zone. It shows an error when it is left incomplete. */
export function TimeInput({ value, onChange, step = 60, onLeave, ...rest }: TimeInputProps) {
  const [isIncomplete, setIncomplete] = useState(false)
  return (
    <TextInput
      {...rest}
      type="datetime-local"
      step={step}
      // The API accepts no year of more than four digits.
      max="9999-12-31T23:59"
      value={textOf(value, step)}
      error={isIncomplete && 'Enter a complete date and time.'}
      errorProps={{ role: 'alert' }}
      // The error is above the field, so that the field stays in line with its neighbours.
      inputWrapperOrder={['label', 'description', 'error', 'input']}
      onChange={({ currentTarget: { value: text, validity } }) => {
        if (!validity.badInput) setIncomplete(false)
        onChange(text === '' ? null : new Date(text).toISOString())
      }}
      // An incomplete time has no value. Without an error it would be ignored silently.
      onBlur={({ currentTarget: { validity } }) => {
        setIncomplete(validity.badInput)
        if (!validity.badInput) onLeave?.()
      }}
    />
  )
}

/** Returns an empty text for an invalid time. */
function textOf(value: string | null, step: number): string {
  if (value === null || Number.isNaN(Date.parse(value))) return ''
  return localTime(value)
    .slice(0, step < 60 ? LENGTH.second : LENGTH.minute)
    .replace(' ', 'T')
}
