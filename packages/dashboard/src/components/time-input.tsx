import { TextInput, type TextInputProps } from '@mantine/core'
import { localTime } from './time'

export interface TimeInputProps extends Pick<TextInputProps, 'label' | 'description' | 'required'> {
  /** RFC 3339 in UTC, as the API has it; null for none, or for one that is not complete. */
  readonly value: string | null
  readonly onChange: (at: string | null) => void
}

/** Takes a moment, by the clock of the browser. */
export function TimeInput({ value, onChange, ...rest }: TimeInputProps) {
  return (
    <TextInput
      {...rest}
      type="datetime-local"
      value={value === null ? '' : localTime(value).slice(0, 16).replace(' ', 'T')}
      onChange={({ currentTarget: { value: text } }) => onChange(text === '' ? null : new Date(text).toISOString())}
    />
  )
}
