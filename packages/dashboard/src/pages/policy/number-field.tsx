import type { Json } from '@countersign/contract'
import { TextInput, type TextInputProps } from '@mantine/core'
import { useState } from 'react'

export interface NumberFieldProps
  extends Pick<TextInputProps, 'label' | 'description' | 'descriptionProps' | 'placeholder' | 'disabled'> {
  readonly value: Json | undefined
  /** Called with undefined when the field is empty. */
  readonly onChange: (value: number | undefined) => void
}

const NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/

/** A field for a number. An incomplete number stays in the field and changes nothing. */
export function NumberField({ value, onChange, ...input }: NumberFieldProps) {
  const shown = value === undefined ? '' : typeof value === 'number' ? String(value) : JSON.stringify(value)
  const [typed, setTyped] = useState<string | null>(null)
  const isNumber = typed === null || typed === '' || NUMBER.test(typed)
  return (
    <TextInput
      {...input}
      inputMode="decimal"
      value={typed ?? shown}
      error={isNumber ? null : 'must be a number'}
      onChange={(event) => {
        const text = event.currentTarget.value.trim()
        setTyped(text)
        if (text === '') onChange(undefined)
        else if (NUMBER.test(text)) onChange(Number(text))
      }}
      onBlur={() => setTyped(null)}
    />
  )
}
