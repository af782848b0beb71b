topic activities
title Three ports and a timer become ready in a known order while the loop is busy
slow 2
trace callouts
source1 P
source1 Q
source1 R
timer T delay=140
source0 S
at 40: write Q
at 80: write R
at 190: write P
on S: busy 240
on P: stop
add P default; add Q default; add R default; add T default; add S default; signal S
run default 2 no
--- golden
run default
source0 S mode=default
source1 Q mode=default
source1 R mode=default
timer T mode=default
source1 P mode=default
ran default STOPPED
end
