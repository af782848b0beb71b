topic pattern
title A modal session: a callback runs the modal mode until answered; default items wait, common ones go on
slow 2
trace callouts
timer Open delay=30
timer Tick delay=60 interval=80
timer DefaultOnly delay=60
source0 Answer
at 200: signal Answer; wake
on Open: note open; run modal 2 yes; note closed
on Tick #3: stop
addcommon modal
add Open default; add Tick common; add DefaultOnly default; add Answer modal
run default 2 no
--- golden
run default
timer Open mode=default
note open
run modal
timer Tick mode=modal
timer Tick mode=modal
source0 Answer mode=modal
ran modal HANDLED
note closed
timer DefaultOnly mode=default
timer Tick mode=default
ran default STOPPED
end
