import { Anchor, Container, Stack, Text, Title } from '@mantine/core'

export function NotFoundPage() {
  return (
    <Container size="xs" py="xl" component="main">
      <Stack>
        <Title order={1}>Page not found</Title>
        <Text>The address may be mistyped, or the page has moved.</Text>
        <Anchor href="/">Go to the overview</Anchor>
      </Stack>
    </Container>
  )
}
