"""What `roofline report` writes for people: `page` writes the page, whose data `page_data` and `case_data` make."""
