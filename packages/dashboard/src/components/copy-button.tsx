import { Button, type ButtonProps } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'

export interface CopyButtonProps extends Pick<ButtonProps, 'size' | 'variant'> {
  readonly text: string
  readonly label: string
}

/** Copies a text to the clipboard. */
export function CopyButton({ text, label, size = 'xs', variant = 'default' }: CopyButtonProps) {
  const clipboard = useClipboard({ timeout: 2_000 })
  return (
    <Button size={size} variant={variant} onClick={() => clipboard.copy(text)}>
      <span aria-live="polite">{clipboard.copied ? 'Copied' : clipboard.error ? 'Could not copy' : label}</span>
    </Button>
  )
}
