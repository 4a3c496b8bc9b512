"""Expected bounds held against what was measured, and written from it.

`roofline.schema` has the words and reads them; here points are judged by them (`judging`: a
finding for each case and expectation, with `counted_work`: by what, `fraction`: how well a fraction is known, and
`reasons`: why it may be so), shown (`table`), passed or not (`gate`), and locked (`locking` chooses, `lock_file`
writes).
"""
