topic observer
title An observer invalidated by an earlier one in the same notification is not called
observer A entry|exit order=1
observer B entry|exit order=2
source0 S
on A entry: invalidate B
add A default; add B default; add S default
run default 0.02 no
--- golden
run default
observer A entry mode=default
observer A exit mode=default
ran default TIMEDOUT
end
